"""The parts of the workbench's sources that follow from the engine: requests and examples."""
