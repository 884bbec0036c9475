"""A page on paper: a browser without a window prints it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from inertica.errors import InerticaError, InputError
from inertica.writing import whole_file

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge", "msedge")
PATIENCE = 120.0
"""Seconds that printing may take."""


def find_browser() -> str:
    """A Chromium of this machine.

    Raises:
        InputError: there is none.
    """
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        raise InputError(
            f"no browser that prints was found ({', '.join(BROWSERS[:3])}); install Chromium, or open the HTML file and print it"
        )
    return browser


def flags(profile: str | Path) -> list[str]:
    """What a browser without a window is started with."""
    words = ["--headless", "--disable-gpu", "--no-first-run", "--disable-extensions", f"--user-data-dir={profile}"]
    root = getattr(os, "geteuid", lambda: 1)() == 0  # a browser does not build its sandbox for the administrator
    return [*words, "--no-sandbox"] if root else words


def print_pdf(page: str | Path, target: str | Path) -> Path:
    """Print an HTML file as PDF.

    Args:
        page: the HTML file.
        target: the PDF file.

    Raises:
        InputError: no browser is there.
        InerticaError: the browser did not print.
    """
    browser = find_browser()
    with whole_file(target) as temporary, tempfile.TemporaryDirectory(prefix="inertica-") as profile:
        words = [browser, *flags(profile), "--no-pdf-header-footer", f"--print-to-pdf={temporary}", Path(page).resolve().as_uri()]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise InerticaError(f"{browser} did not print {page} in {PATIENCE:g} s; open the file and print it there") from None
        if not temporary.exists() or not temporary.stat().st_size:
            last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            raise InerticaError(f"{browser} did not print {page} ({last}); open the file and print it there")
    return Path(target)
