"""Whether the replies of a run can be held to a grammar, and to which one."""

from ahd.config import ConfigError, RunConfig, Style
from operators.grammar import LONGEST, NoGrammar, reply_grammar
from operators.skeleton import STOP
from problems.problem import Problem


def grammar_of(config: RunConfig, problem: Problem) -> str:
    """The grammar of the run's replies.

    Raises:
        ConfigError: the problem's skeleton has none.
    """
    try:
        return reply_grammar(problem.skeleton, STOP, config.max_tokens or LONGEST)
    except NoGrammar as error:
        raise ConfigError(f"--structured: problem {problem.name}: {error}, or drop --structured") from None


def check_style(config: RunConfig, style: Style) -> None:
    """Refuse a grammar for replies that are whole functions.

    Raises:
        ConfigError: the model is so large that it writes them.
    """
    if config.structured and style is Style.FREE:
        raise ConfigError(
            "--structured: a model of this size writes whole functions, and only a skeleton has a grammar: "
            "give --style skeleton, or drop --structured"
        )
