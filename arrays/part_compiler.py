"""Functions that only kernels call, compiled once: together with the kernel, not by themselves before.

numba optimises a function and makes machine code of it, then links what it optimised into each caller and optimises it
again; a function at the end of a chain of ten calls is optimised ten times. Nobody ever calls a part from Python, so
its library is left as it was lowered, and all is optimised in the library of the kernel. This uses the inside of numba,
so a new version of it is allowed only after the kernels were compiled with it.
"""

from __future__ import annotations

from typing import Any

from numba.core import codegen, compiler, compiler_machinery, typed_passes

_codegen: Any = codegen
_compiler: Any = compiler
_machinery: Any = compiler_machinery
_passes: Any = typed_passes


class _PartLibrary(_codegen.JITCodeLibrary):  # type: ignore[misc]
    """The code of a part, to be linked into a kernel's library; there is no machine code of it."""

    @property
    def codegen(self) -> _PartLibrary:
        """The setter of a function's environment, which is needed if it is called from Python."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Does nothing: kernels keep no environment of their parts either, once they have been kept on disk."""

    def get_pointer_to_function(self, name: str) -> int:
        """Null: there is no entry point."""
        self._ensure_finalized()
        return 0

    def _optimize_final_module(self) -> None:
        """Does nothing: the kernel's library optimises it."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@_machinery.register_pass(mutates_CFG=False, analysis_only=True)
class _UsePartLibrary(_machinery.AnalysisPass):  # type: ignore[misc]
    """Gives the function such a library, before it is lowered."""

    _name = "use_part_library"

    def __init__(self) -> None:
        _machinery.AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Make the library; the function is not changed."""
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return False


class PartCompiler(_compiler.CompilerBase):  # type: ignore[misc]
    """The pipeline of numba, with that library."""

    def define_pipelines(self) -> list[Any]:
        """The one pipeline."""
        pipeline = _compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.add_pass_after(_UsePartLibrary, _passes.AnnotateTypes)
        pipeline.finalize()
        return [pipeline]
