"""The model a run asks for. Engines are imported only when they are needed."""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

from ahd.config import ConfigError, RunConfig
from ahd.es.perturbation import Perturbation, perturbation_of
from ahd.models.names import DEFAULT, DEFAULT_PARAMETERS, locate
from operators.model import Model


def load_model(config: RunConfig, tell: Callable[[str], None] = lambda line: None) -> Model:
    """The model of a run: on ``config.server``, else in replicas, else in this process.

    ``config.model`` is ``scripted`` (no engine), the default model, a local folder or a Hugging Face id.
    ``tell`` is given a line whenever a replica is replaced or brought back.

    Raises:
        ConfigError: no such model, or one that cannot be loaded here.
    """
    perturbation = perturbation_of(config)
    if config.server:
        from ahd.models.server import ServerModel

        return ServerModel(config.server, perturbation)
    folder = None if config.model == "scripted" else locate(config.model)
    name = str(folder.resolve()) if folder else config.model  # a replica may start in another folder
    trusted = config.trust_remote_code
    build = partial(_build, name, perturbation, config.dtype, config.tensor_parallel, trusted)
    if _replicated(config):
        from ahd.models.replicas import Replicas

        return Replicas(build, config.replicas, config.ray_address, tell)
    return build()


def _build(name: str, perturbation: Perturbation, dtype: str, tensor_parallel: int, trusted: bool) -> Model:
    """A model in this process."""
    if name == "scripted":
        from ahd.models.scripted import scripted_tsp

        return scripted_tsp(perturbation)
    from ahd.models.live import LiveModel

    return LiveModel(
        name,
        perturbation=perturbation,
        dtype=dtype,
        tensor_parallel=tensor_parallel,
        trust_remote_code=trusted,
    )


def _replicated(config: RunConfig) -> bool:
    return config.replicas > 1 or bool(config.ray_address)


def has_engine_here(config: RunConfig) -> bool:
    """Whether the engine runs inside this process."""
    return not (config.model == "scripted" or config.server or _replicated(config))


def check_model(config: RunConfig) -> None:
    """Refuse at once what cannot be a model or a scope, before anything slow starts; loads and fetches
    nothing.

    Raises:
        ConfigError: no such folder, and no Hugging Face id either; or the scope is no regular expression; or
            the engine lacks what it takes a grammar with.
    """
    perturbation_of(config)
    if config.structured and not config.server and find_spec("lmformatenforcer") is None:
        raise ConfigError(
            "--structured: vLLM takes no grammar without lm-format-enforcer: "
            "pip install --no-deps lm-format-enforcer interegular, or drop --structured"
        )
    if not (config.model == "scripted" or config.server):
        locate(config.model)


def is_to_be_built(name: str) -> bool:
    """Whether loading the model begins with building the default one into the cache."""
    from ahd.models import embedded

    return name == DEFAULT and not embedded.folder().exists()


def model_parameters(name: str) -> int:
    """Number of weights of ``--model name``, without loading an engine.

    Raises:
        ConfigError: no such model.
    """
    if name == "scripted":
        from ahd.models.scripted import scripted_tsp

        return scripted_tsp().parameters
    if name == DEFAULT:
        return DEFAULT_PARAMETERS
    from ahd.models.resolve import count_parameters, resolve_model

    return count_parameters(resolve_model(name, trusted=True))  # only its tensors are looked at
