"""The model a run asks for. Engines are imported only when they are needed."""

from ahd.config import RunConfig
from ahd.models.names import DEFAULT, DEFAULT_PARAMETERS, locate
from operators.model import Model


def load_model(config: RunConfig) -> Model:
    """Load ``config.model``: ``scripted`` (no engine), the default model, a local folder or a Hugging
    Face id.

    Raises:
        ConfigError: no such model, or one that cannot be loaded here.
    """
    if config.model == "scripted":
        from ahd.models.scripted import scripted_tsp

        return scripted_tsp()
    from ahd.models.live import LiveModel

    return LiveModel(config.model)


def check_model(name: str) -> None:
    """Refuse at once what cannot be a model, before anything slow starts; loads and fetches nothing.

    Raises:
        ConfigError: no such folder, and no Hugging Face id either.
    """
    if name != "scripted":
        locate(name)


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
    from ahd.models.live import count_parameters, resolve_model

    return count_parameters(resolve_model(name))
