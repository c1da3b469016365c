"""A model that is split over ranks: the same weights, updates and replies as in one piece."""

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ahd.config import ConfigError, Kind, RunConfig
from ahd.es.perturbation import Perturbation
from ahd.models.live import LiveModel
from ahd.models.split import Alone, Block, Split, columns, rows, whole
from ahd.models.weights import Masters
from operators.model import ModelError, UpdateRefused

KINDS = [
    Perturbation(),
    Perturbation(scope="norms"),
    Perturbation(Kind.FULL, "o_proj|k_proj"),
    Perturbation(Kind.LOWRANK, "all", 2),
    Perturbation(Kind.LOWRANK, "linear"),
]
SHAPES = {
    "b.q_proj.weight": (24, 20),
    "b.q_proj.bias": (24,),
    "b.k_proj.weight": (12, 20),
    "b.o_proj.weight": (20, 24),
    "b.o_proj.bias": (20,),
    "a.norm.weight": (20,),
    "c.embed_tokens.weight": (50, 20),
    "d.lm_head.weight": (30, 20),
}
COPIES = {2: 1, 3: 3, 4: 2}
"""How many ranks hold the same key-value heads, by the number of ranks."""


class Member:
    """A rank that is a thread of this process."""

    def __init__(self, rank: int, size: int, meeting: Barrier, table: list[Any], mail: Any) -> None:
        self.rank, self.size = rank, size
        self._meeting, self._table, self._mail = meeting, table, mail

    def share(self, value: Any) -> list[Any]:
        self._table[self.rank] = value
        self._meeting.wait(60)
        values = list(self._table)
        self._meeting.wait(60)
        return values

    def send(self, array: np.ndarray, to: int) -> None:
        self._mail[self.rank, to].put(array.copy())

    def receive(self, shape: tuple[int, ...], sender: int) -> np.ndarray:
        array = self._mail[sender, self.rank].get(timeout=60)
        assert array.shape == shape
        return array


def on_ranks(size: int, work: Callable[[Member], Any]) -> list[Any]:
    """What each of the ranks makes, all at the same time."""
    meeting, table = Barrier(size), [None] * size
    mail = {(a, b): Queue[Any]() for a in range(size) for b in range(size)}
    members = [Member(rank, size, meeting, table, mail) for rank in range(size)]
    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(work, members))


def vocabulary(height: int, rank: int, ranks: int) -> Block:
    """Equal shares of 66 or 64 rows, those past the end of the vocabulary left out."""
    share = -(-64 // ranks)
    first, last = (min(height, share * each) for each in (rank, rank + 1))
    return Block((height, 20), (last - first, 20), first)


def blocks(rank: int, ranks: int) -> dict[str, Block]:
    """How an engine splits the tensors above."""
    return {
        "b.q_proj.weight": rows((24 // ranks, 20), rank, ranks),
        "b.q_proj.bias": rows((24 // ranks,), rank, ranks),
        "b.k_proj.weight": rows((12 * COPIES[ranks] // ranks, 20), rank, ranks, COPIES[ranks]),
        "b.o_proj.weight": columns((20, 24 // ranks), rank, ranks),
        "b.o_proj.bias": whole((20,)),
        "a.norm.weight": whole((20,)),
        "c.embed_tokens.weight": vocabulary(50, rank, ranks),
        "d.lm_head.weight": vocabulary(30, rank, ranks),
    }


def tensors() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {name: rng.normal(1, 0.1, shape).astype(np.float32) for name, shape in SHAPES.items()}


def masters(member: Member, perturbation: Perturbation, **kwargs: Any) -> Masters:
    split = Split(blocks(member.rank, member.size), member)
    return Masters(tensors().items(), perturbation, split=split, **kwargs)


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_blocks_cover_the_whole(ranks: int) -> None:
    """Each element of a tensor is in the block of some rank; with copied heads, in that of as many as hold
    copies; every rank puts the whole together from the blocks."""
    held = {name: np.zeros(shape, int) for name, shape in SHAPES.items()}
    for rank in range(ranks):
        for name, block in blocks(rank, ranks).items():
            assert block.whole == SHAPES[name]
            held[name][block.index] += 1
    times = {"k_proj": COPIES[ranks], "o_proj.bias": ranks, "norm": ranks}
    for name, counts in held.items():
        assert (counts == next((n for part, n in times.items() if part in name), 1)).all(), name

    def work(member: Member) -> dict[str, np.ndarray]:
        split = Split(blocks(member.rank, member.size), member)
        joined = {}
        for name, tensor in tensors().items():
            mine = split.cut(name, tensor)
            if split.is_split(name):
                assert mine.shape == blocks(member.rank, member.size)[name].shape
                for owner in range(member.size):
                    if (found := split.join(name, mine, owner)) is not None:
                        joined[name] = found
            else:
                assert mine is tensor
        return joined

    for joined in on_ranks(ranks, work):
        assert len(joined) >= 5
        for name, tensor in joined.items():
            assert np.array_equal(tensor, tensors()[name])


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("perturbation", KINDS, ids=str)
def test_ranks_make_the_update_of_one(perturbation: Perturbation, ranks: int) -> None:
    """Hash, norm, share of moved weights and counts are the same on all ranks and those of one piece, at the
    start, after two updates and after a reset; each rank's masters are its blocks of the whole, bit for
    bit."""
    log = [([1, 2, 1], [1.0, -0.5, 0.25], 0.1), ([4], [2.0], 0.05)]

    def changed(before: np.ndarray, after: np.ndarray) -> int:
        return int((before != after).sum())

    def story(model: Masters) -> list[Any]:
        told: list[Any] = [model.count, model.in_scope, model.hash()]
        for seeds, weights, alpha in log:
            told += [*model.update(seeds, weights, alpha, changed), model.hash()]
        arrays = {name: array.copy() for name, array in model.arrays.items()}
        model.replace(tensors().items())
        return [*told, model.hash(), arrays]

    expected = story(Masters(tensors().items(), perturbation))
    for rank, told in enumerate(on_ranks(ranks, lambda member: story(masters(member, perturbation)))):
        assert told[:-1] == [
            pytest.approx(each) if isinstance(each, float) else each for each in expected[:-1]
        ]
        for name, array in told[-1].items():
            assert np.array_equal(array, expected[-1][name][blocks(rank, ranks)[name].index]), name


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("perturbation", KINDS, ids=str)
def test_a_perturbed_block_is_the_block_of_the_perturbed(perturbation: Perturbation, ranks: int) -> None:
    """A rank's share of masters plus noise is the slice of the whole's, in every treatment."""

    def moved(model: Masters) -> dict[str, np.ndarray]:
        return {
            name: np.concatenate(
                [part.copy() for _, part in model.perturbed(name, 3, 0.1)] or [array.ravel()]
            )
            for name, array in model.arrays.items()
        }

    expected = moved(Masters(tensors().items(), perturbation))
    for rank, each in enumerate(on_ranks(ranks, lambda member: moved(masters(member, perturbation)))):
        for name, values in each.items():
            part = expected[name].reshape(SHAPES[name])[blocks(rank, ranks)[name].index]
            assert np.array_equal(values, part.ravel()), name


def test_all_ranks_refuse_together() -> None:
    """What leads only one rank's block out of range is refused by all, before anything moves."""

    def work(member: Member) -> None:
        model = masters(member, Perturbation(), largest=65504.0)
        if member.rank == 1:
            model.arrays["b.q_proj.weight"][0, 0] = 65503.0
        before = model.hash()
        with pytest.raises(UpdateRefused, match="q_proj"):
            model.update([1], [1.0], 1.0)
        assert model.hash() == before

    on_ranks(2, work)


def test_ranks_that_differ_are_found_out() -> None:
    """A tensor that every rank has, but not with the same bits, is no weight to report a hash of."""

    def work(member: Member) -> None:
        model = masters(member, Perturbation())
        model.arrays["a.norm.weight"][0] += member.rank
        with pytest.raises(RuntimeError, match=r"a\.norm\.weight is not the same"):
            model.hash()

    on_ranks(2, work)


def test_what_cannot_be_split_is_refused() -> None:
    """Blocks that are no part of the file's tensor, and tensors that the files lack, are errors."""
    for name, fault in (("a.norm.weight", "not known here"), ("z.proj.weight", "not in the files")):
        split = Split({name: whole((7,))}, Alone())
        with pytest.raises(ValueError, match=fault):
            Masters(tensors().items(), Perturbation(), split=split)


@pytest.mark.parametrize(
    "others", [{"server": "http://localhost:1"}, {"replicas": 2}, {"ray_address": "auto"}]
)
def test_one_way_of_splitting_at_a_time(others: dict[str, Any]) -> None:
    """A server and replicas have engines of their own, which the option does not reach."""
    with pytest.raises(ConfigError, match=r"--tensor-parallel 2: .*(server|replica)"):
        RunConfig(problem="tsp", tensor_parallel=2, **others)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("Worker failed with error 'no such\nthing', please check the stack trace", "^no such thing$"),
        ("Executor failed.", "a process of the engine is gone"),
        ("cancelled", "a process of the engine is gone"),
    ],
)
def test_failures_of_other_processes_are_one_line(fault: str, told: str) -> None:
    """What vLLM says of a rank that failed or died is a ``ModelError`` of one line, from every call."""

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(fault)

    model = LiveModel.__new__(LiveModel)
    model._engine = SimpleNamespace(step=fail, collective_rpc=fail)
    for call in (model._step, lambda: model._rpc("es_hash")):
        with pytest.raises(ModelError, match=told):
            call()


def _layers(ranks: int, rank: int, patch: pytest.MonkeyPatch) -> Any:
    """One vLLM layer of every class that is split, as rank ``rank`` builds it."""
    import torch
    from vllm.config import VllmConfig, set_current_vllm_config
    from vllm.model_executor import parameter
    from vllm.model_executor.layers import linear, vocab_parallel_embedding

    for module in (linear, vocab_parallel_embedding, parameter):
        patch.setattr(module, "get_tensor_model_parallel_rank", lambda: rank)
        patch.setattr(module, "get_tensor_model_parallel_world_size", lambda: ranks)
    with set_current_vllm_config(VllmConfig()):
        model = torch.nn.Module()
        model.packed_modules_mapping = {
            "qkv_proj": ["q_proj", "k_proj", "v_proj"],
            "gate_up_proj": ["gate_proj", "up_proj"],
        }
        model.qkv_proj = linear.QKVParallelLinear(20, 4, 12, 2 if ranks == 4 else ranks)
        model.gate_up_proj = linear.MergedColumnParallelLinear(20, [24, 24])
        model.fc1 = linear.ColumnParallelLinear(20, 24)
        model.o_proj = linear.RowParallelLinear(24, 20)
        model.router = linear.ReplicatedLinear(20, 6)
        model.embed_tokens = vocab_parallel_embedding.VocabParallelEmbedding(50, 20, padding_size=12)
        model.lm_head = vocab_parallel_embedding.ParallelLMHead(50, 20, bias=True, padding_size=12)
    return model


@pytest.mark.live
@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_blocks_are_what_the_engine_loads(ranks: int) -> None:
    """For every class of layers, weights and biases, the block that is told of a tensor is what vLLM's own
    loader cuts out of it."""
    import torch

    from ahd.models import parameters

    for rank in range(ranks):
        with pytest.MonkeyPatch.context() as patch:
            model = _layers(ranks, rank, patch)
            for found in parameters.find(model):
                found.tensor.data.fill_(-1)
                module, expected = found.modules[0], []
                for number, piece in enumerate(found.pieces):
                    tensor = torch.arange(np.prod(piece.block.whole), dtype=torch.float32)
                    tensor = tensor.reshape(piece.block.whole) + 1000 * number
                    shard = ([], ["q", "k", "v"], [0, 1])[
                        (len(found.pieces) == 3) + 2 * (len(found.pieces) == 2)
                    ]
                    found.tensor.weight_loader(found.tensor, tensor, *shard[number : number + 1])
                    expected.append((piece.name, tensor[piece.block.index].numpy()))
                flat = found.tensor.data.reshape(-1).numpy()
                for name, block in expected:
                    loaded, flat = flat[: block.size], flat[block.size :]
                    assert np.array_equal(loaded, block.ravel()), (type(module).__name__, name, rank)


@pytest.mark.live
@pytest.mark.slow
@pytest.mark.parametrize("lengths", [[1, 1, 1], [3, 1, 2]])
def test_steps_of_rows_add_up(lengths: list[int]) -> None:
    """What the ranks' factors add to the rows of a batch is what the whole ones add: parts of the outputs,
    parts of the inputs, an embedding, and nothing in the padding."""
    import torch

    from ahd.models.parameters import Piece
    from ahd.models.rows import Layout, LowRank
    from operators.model import Direction

    layout = Layout()
    layout.set([2, 0, 1], lengths)
    directions = [Direction(5, 0.1), Direction(6, -0.2)]
    x = torch.randn(sum(lengths), 24, generator=torch.Generator().manual_seed(1))

    def step(x: torch.Tensor, pieces: list[Piece], outputs: int, total: Any = None) -> torch.Tensor:
        matrix = LowRank(pieces, [True] * len(pieces), outputs, 2, total)
        matrix.fill(directions, torch.zeros(1))
        y = torch.zeros(len(x), outputs)
        matrix.add(layout, x, y)
        return y

    expected = step(x, [Piece("o", whole((20, 24)))], 20)
    assert expected.abs().sum() > 1

    def narrow(member: Member) -> torch.Tensor:
        block = columns((20, 8), member.rank, 3)
        return step(x[:, block.index[1]], [Piece("o", block)], 20, lambda dots: sum(member.share(dots)))

    for y in on_ranks(3, narrow):
        torch.testing.assert_close(y, expected)
    shares = [step(x, [Piece("o", rows((10, 24), rank, 2))], 12) for rank in range(2)]
    torch.testing.assert_close(torch.cat([y[:, :10] for y in shares], 1), expected)
    assert not torch.cat([y[:, 10:] for y in shares], 1).any()


CASES = [
    ("full", "all", 1, 0.02),
    ("full", "norms", 1, 0.2),
    ("lowrank", "all", 2, 0.02),
    ("lowrank", "k_proj|o_proj|up_proj", 1, 0.05),
]
PROMPTS = ["Name three large cities and say which one you like best.", "Count to ten."]
LOG = [([1, 2, 3], [1.0, -0.5, 0.25], 0.01), ([4, 5, 4], [0.0, 2.0, 1.0], 0.01)]
HIDDEN, HEADS, INNER, LAYERS, TOKENS = 128, 4, 160, 2, 49_160

PROBE = """
import json, sys
from ahd.models import runtime
runtime.set_environment()
from ahd.config import ConfigError, Kind
from ahd.es.perturbation import Perturbation
from ahd.models.live import LiveModel
from ahd.models.tags import tagged
from operators.model import Direction, Request, UpdateRefused
from vllm import SamplingParams

folder, ranks, cases, prompts, log = json.loads(sys.argv[1])
model = LiveModel(folder, dtype="float32", max_length=256, tensor_parallel=ranks)
requests = [Request(prompt, seed=0, temperature=0.0, max_tokens=6) for prompt in prompts]

def logprobs(direction):
    slots = model._weights.move_to([direction])
    copies = model._on_all("es_copies")
    stale = model.stale_weights()
    params = SamplingParams(temperature=0, max_tokens=6, logprobs=5)
    for number, request in enumerate(requests):
        model._engine.add_request(
            tagged(f"{number}-{direction.seed}", slots.get(direction, 0)),
            {"prompt_token_ids": model._tokens(request), "cache_salt": f"{cases}{direction}"}, params
        )
    outputs = []
    while model._engine.has_unfinished_requests():
        outputs += [output for output in model._engine.step() if output.finished]
    model._weights.move_to([])
    outputs.sort(key=lambda output: output.request_id)
    steps = [[{token: entry.logprob for token, entry in step.items()} for step in output.outputs[0].logprobs]
             for output in outputs]
    return {"copies": copies, "stale": stale, "steps": steps}

answers = []
for kind, scope, rank, sigma in cases:
    model.use(Perturbation(Kind(kind), scope, rank))
    hashes, before = [model.weights_hash()], model._on_all("es_copies")
    directions = [Direction(8, sigma), None, Direction(9, -sigma), Direction(8, -sigma)]
    asked = [requests[i] for i in (0, 0, 1, 0)]
    replies = dict(model.generate(asked, directions))
    probed = logprobs(Direction(8, sigma))
    restored = model._on_all("es_copies") == before
    norms = []
    for seeds, weights, alpha in log:
        report = model.update(seeds, weights, alpha)
        norms.append([report.norm, report.moved])
        hashes.append(report.weights_hash)
    stale = model.stale_weights()
    try:
        model.update([1], [1e38], 10.0)
        refused = ""
    except UpdateRefused as error:
        refused = str(error)
    model.reset()
    restored = [restored, model._on_all("es_copies") == before, model.weights_hash() == hashes[0]]
    answers.append({"replies": [replies[i].text for i in range(4)], "hashes": hashes, "norms": norms,
                    "restored": restored, "refused": refused, "after": stale, **probed})
try:
    model.use(Perturbation(Kind.FULL, "nothing"))
    fault = ""
except ConfigError as error:
    fault = str(error)
print(json.dumps([answers, fault, model.parameters]))
model.close()
"""


def build_model(folder: Path) -> None:
    """A random Llama of two layers, with one key-value head, biases, a tied output layer and a vocabulary
    that the engine pads, and the default model's tokenizer."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    from ahd.models.embedded import ensure

    torch.manual_seed(1)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=TOKENS,
            hidden_size=HIDDEN,
            intermediate_size=INNER,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            num_key_value_heads=1,
            max_position_embeddings=512,
            attention_bias=True,
            mlp_bias=True,
            tie_word_embeddings=True,
        )
    )
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.normal_(1.0 if tensor.ndim == 1 and tensor[0] == 1 else 0.0, 0.15)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(ensure(), local_files_only=True).save_pretrained(folder)


def engine_blocks(rank: int, ranks: int) -> Callable[[str, tuple[int, ...]], Block]:
    """Which block of a tensor of that model a rank holds, from its name and whole shape."""

    def block(name: str, shape: tuple[int, ...]) -> Block:
        if "embed" in name:
            share = 49_216 // ranks
            last = min(TOKENS, share * (rank + 1))
            return Block(shape, (last - share * rank, HIDDEN), share * rank)
        if any(part in name for part in ("q_proj", "gate", "up_proj")):
            return rows((shape[0] // ranks, *shape[1:]), rank, ranks)
        if name.endswith(("o_proj.weight", "down_proj.weight")):
            return columns((shape[0], shape[1] // ranks), rank, ranks)
        return whole(shape)

    return block


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tensor-parallel") / "model"
    build_model(path)
    return path


@pytest.fixture(scope="module")
def answers(folder: Path) -> dict[int, Any]:
    """What one rank and what two ranks answer, one engine after the other."""
    found = {}
    for ranks in (1, 2):
        told = json.dumps([str(folder), ranks, CASES, PROMPTS, LOG])
        run = subprocess.run([sys.executable, "-c", PROBE, told], capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr[-3000:]
        assert run.stdout.count("\n") == 1, "the engine writes to standard output"
        found[ranks] = json.loads(run.stdout)
    return found


@pytest.mark.live
@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: " ".join(map(str, CASES[number])))
def test_two_ranks_answer_as_one(answers: dict[int, Any], number: int) -> None:
    """Greedy replies under directions of every kind, and under none in the same batch, are word for word
    those of one rank; log-probabilities differ by less than 1e-4 (float32)."""
    one, two = (answers[ranks][0][number] for ranks in (1, 2))
    assert two["replies"] == one["replies"]
    assert len(set(one["replies"])) == 4
    for expected, found in zip(one["steps"], two["steps"], strict=True):
        for step, other in zip(expected, found, strict=True):
            assert list(step) == list(other)
            assert list(step.values()) == pytest.approx(list(other.values()), abs=1e-4)


@pytest.mark.live
@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: " ".join(map(str, CASES[number])))
def test_two_ranks_hold_the_weights_of_one(answers: dict[int, Any], folder: Path, number: int) -> None:
    """Perturbed, every live copy on a rank is its block of the perturbed whole. Files and log alone give the
    hashes and norms of the updates, for any number of ranks. Restoring and resetting leave no trace. What is
    refused on one rank is refused on all."""
    import hashlib

    import torch

    kind, scope, rank, sigma = CASES[number]
    one, two = (answers[ranks][0][number] for ranks in (1, 2))
    model = Masters.load(folder, torch.float32, Perturbation(Kind(kind), scope, rank))
    plain = Masters.load(folder, torch.float32)
    assert answers[1][2] == answers[2][2] == model.count
    hashes, norms = [model.hash()], []
    for name, array in plain.arrays.items():
        if kind == "full" and scope == "all":
            array = np.concatenate([part.copy() for _, part in model.perturbed(name, 8, sigma)])
        for number_of_rank, copies in enumerate(two["copies"]):
            block = engine_blocks(number_of_rank, 2)(name, plain.arrays[name].shape)
            part = array.reshape(block.whole)[block.index] + np.float32(0)
            digest = hashlib.sha256(np.ascontiguousarray(part).tobytes()).hexdigest()
            held = [each for each in copies if each.partition("@")[0] == name]
            assert held
            assert {copies[each] for each in held} == {digest}, name
    for seeds, weights, alpha in LOG:
        norms.append(model.update(seeds, weights, alpha)[0])
        hashes.append(model.hash())
    assert two["hashes"] == one["hashes"] == hashes
    assert [norm for norm, _ in two["norms"]] == pytest.approx(norms)
    assert [moved for _, moved in two["norms"]] == [moved for _, moved in one["norms"]]
    for each in (one, two):
        assert each["stale"] == each["after"] == []
        assert each["restored"] == [True] * 3
        assert "smaller --alpha" in each["refused"]


@pytest.mark.live
@pytest.mark.slow
def test_a_fault_of_a_rank_is_one_line(answers: dict[int, Any]) -> None:
    """What the ranks refuse is told as one rank tells it, without the words of the processes between."""
    assert answers[1][1] == answers[2][1] == "--kind full --scope nothing touches no weight of this model"
