"""A store named by a URL: a kernel keeps its steps there, another one goes on."""

import pytest
from real_kernel import LOAD, Kernel, save

from nbresume.ui.cli import cli

STEP = "%%step a\nx = [1, 2]\nprint('shown')"


@pytest.mark.kernel
def test_another_kernel_resumes_the_run_from_the_bucket(tmp_path, bucket):
    """What a kernel kept in a bucket is restored by the next, and listed by URL."""
    from click.testing import CliRunner

    save(tmp_path / "main.ipynb", LOAD, STEP)
    env = {"NBRESUME_UNATTENDED": "1", "NBRESUME_STORE": bucket}
    with Kernel(tmp_path, env=env) as kernel:
        kernel.ok(LOAD, "c0")
        kernel.ok(STEP, "c1")
    with Kernel(tmp_path, env=env) as kernel:
        kernel.ok(LOAD, "c0")
        replayed = kernel.ok(STEP, "c1")
        value = kernel.evaluate("x")
    listed = CliRunner().invoke(cli, ["runs", bucket])

    assert "[restored]" in replayed.text
    assert value == "[1, 2]"
    assert listed.exit_code == 0
    assert len(listed.stdout.splitlines()) == 1
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith("s3")] == []
