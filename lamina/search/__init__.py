"""Search hundreds of networks at once: candidates × folds as members of stacks."""

__all__: list[str] = []
