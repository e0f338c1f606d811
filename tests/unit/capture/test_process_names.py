"""Names that look secret, names of the terminal, texts that seed."""

import pytest

from nbresume.capture.process_names import counts_as_input, is_lost, is_secret, seeds


@pytest.mark.parametrize(
    "name",
    [
        *("GITHUB_TOKEN", "client_secret", "PGPASSWORD", "OPENAI_API_KEY", "APIKEY"),
        *("AWS_ACCESS_KEY_ID", "apiKey", "KEY", "GOOGLE_APPLICATION_CREDENTIALS"),
        *("SSH_AUTH_SOCK", "AUTHORIZATION", "PRIVATE", "MYSQL_PWD", "SMTP_PASS"),
        *("GITHUB_PAT", "SENTRY_DSN", "env:MY_KEY", "key2", "PASSPHRASE"),
    ],
)
def test_secrets_are_known_by_their_names(name):
    """Better one variable too few than one secret too many."""
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "HOME", "TZ", "KEYBOARD", "MONKEY", "GIT_AUTHOR_NAME", "PATTERN"),
        *("TOKENIZERS_PARALLELISM", "CUDA_VISIBLE_DEVICES", "env:OMP_NUM_THREADS"),
        *("COMPASS", "BYPASS_CACHE", "PINS"),
    ],
)
def test_common_variables_are_no_secrets(name):
    """They are what steps set and need again."""
    assert not is_secret(name)


def test_an_address_with_a_password_is_a_secret():
    """Whatever the variable is called."""
    assert is_secret("DB", "postgres://me:pw@host/db")
    assert not is_secret("DB", "postgres://host:5432/db")
    assert not is_secret("SITE", "https://host:80/a@b")


def test_the_terminal_and_jupyter_have_variables_of_their_own():
    """They are lost on purpose."""
    assert all(map(is_lost, ("COLUMNS", "LINES", "_", "JPY_API", "NBRESUME_HOME")))
    assert not any(map(is_lost, ("TZ", "LANG", "PATH")))


def test_only_generators_and_the_decimal_context_are_inputs():
    """Of the rest a step's result does not depend as a rule."""
    names = ["rng:random", "rng:numpy", "decimal", "cwd", "env:A", "pandas.options"]

    assert names[:3] == list(filter(counts_as_input, names))


@pytest.mark.parametrize(
    "text",
    [
        "np.random.seed(0)",
        "from random import seed\nseed(1)",
        "if x:\n    torch.manual_seed (3)",
        "%matplotlib inline\nnp.random.seed(0)",
        "random.setstate(s); np.random.set_state(t)",
        frozenset({"np", "seed"}),
        frozenset({"np.random.set_state"}),
    ],
)
def test_cells_that_seed(text):
    """They bring a global generator to a known state."""
    assert seeds(text)


@pytest.mark.parametrize(
    "text",
    [
        "rng = np.random.default_rng(seed=3)",
        "# np.random.seed(0)",
        "%time x\n# np.random.seed(0)",
        "print('seed(0)')",
        "random_seed(3); seed = 3; np.random.rand()",
        "",
        frozenset({"np", "default_rng", "x"}),
    ],
)
def test_cells_that_do_not_seed(text):
    """A generator of one's own is a plain variable."""
    assert not seeds(text)
