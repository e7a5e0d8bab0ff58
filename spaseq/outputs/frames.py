"""Rows as tables of the packages that analyse data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from spaseq.outputs import with_package

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Frames(ABC):
    """Base of results whose rows can be had as an Arrow table or as a DataFrame of other packages."""

    @abstractmethod
    def to_arrow(self) -> pyarrow.Table:
        """The rows as an Arrow table; raises InputError without the package pyarrow."""

    def to_polars(self) -> polars.DataFrame:
        """`to_arrow` as a DataFrame of polars; raises InputError without polars, too."""
        frame: polars.DataFrame = with_package("polars", "to_polars").from_arrow(self.to_arrow())
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """`to_arrow` as a DataFrame of pandas; raises InputError without pandas, too."""
        with_package("pandas", "to_pandas", "pandas")
        return self.to_arrow().to_pandas()
