"""What pyproject.toml cannot say: the pages of docs/ are in the package too, for `/help` of a collector."""

from __future__ import annotations

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PLACE = Path("collector", "ui", "help")


class WithHelp(build_py):
    """Copies the pages and their pictures; an editable installation reads them where they are."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for page, copy in self._pages():
                self.mkpath(str(copy.parent))
                self.copy_file(str(page), str(copy))

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        found: list[str] = super().get_outputs(include_bytecode)
        return [*found, *(str(copy) for _, copy in self._pages())]

    def _pages(self) -> list[tuple[Path, Path]]:
        pages = sorted(page for page in Path("docs").iterdir() if page.suffix in (".md", ".png"))
        return [(page, Path(self.build_lib) / PLACE / page.name) for page in pages]


setup(cmdclass={"build_py": WithHelp})
