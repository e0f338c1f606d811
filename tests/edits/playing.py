"""Notebooks played in kernels: a folder for each, and one process that forks them."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from books import Book, Edit, saved

KERNELS = Path(__file__).with_name("kernels.py")


class Stage:
    """The process that kernels are forked from, and a folder for their notebooks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONHASHSEED": "0",
            "MPLBACKEND": "Agg",
            "PYTHONWARNINGS": "ignore",
        }
        self._process = subprocess.Popen(
            [sys.executable, str(KERNELS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self._count = 0

    def close(self) -> None:
        """Let the process end."""
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()

    def ask(self, request: dict) -> dict | list | None:
        """Return what a new process answers to a request; None if it never ends."""
        self._count += 1
        path = self.folder / f"{self._count}.request"
        path.write_text(json.dumps(request))
        self._process.stdin.write(f"{path}\n")
        self._process.stdin.flush()
        ended = self._process.stdout.readline().strip()
        if ended == str(-signal.SIGPROF):
            return None
        assert ended == "0", f"the kernel ended with {ended}: {request['folder']}"
        answer = path.with_suffix(".answer")
        told = json.loads(answer.read_text())
        answer.unlink()
        path.unlink()
        return told

    def clean(self, book: Book) -> dict | None:
        """Return what a clean run of a notebook comes to; None if it never ends."""
        folder = self._made(book, "clean")
        cells = [(cell.name, cell.source) for cell in book.cells]
        request = {"clean": True, "folder": str(folder), "runs": [{"cells": cells}]}
        return self.ask(request)

    def play(self, folder: Path, books: list[Book]) -> list[dict]:
        """Run all cells of some versions of a notebook, in one new kernel."""
        runs = [
            {
                "cells": book.sources(),
                "files": book.files,
                "saved": saved(book.sources()),
            }
            for book in books
        ]
        return self.ask({"clean": False, "folder": str(folder), "runs": runs})

    def _made(self, book: Book, name: str) -> Path:
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for file, text in book.files.items():
            (folder / file).write_text(text)
        return folder

    def fresh(self, book: Book, edits: list[Edit]) -> list[dict]:
        """Return what a new kernel makes of each edit of a notebook that has run."""
        folder, kept = self._made(book, "fresh"), self.folder / "kept"
        (first,) = self.play(folder, [book])
        assert not first["error"], first
        shutil.rmtree(kept, ignore_errors=True)
        folder.rename(kept)
        answers = []
        for edit in edits:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(kept, folder)
            answers += self.play(folder, [book.edited(edit)])
        return [first, *answers]

    def live(self, book: Book, edits: list[Edit]) -> list[dict]:
        """Return what one kernel makes of each edit, and of taking it back."""
        folder = self._made(book, "live")
        versions = [book]
        for edit in edits:
            versions += [book.edited(edit), book]
        return self.play(folder, versions)
