"""Pictures that can be read in black and white, as PNG and SVG."""

from longrank.experiments.figures.budgets import over_budgets
from longrank.experiments.figures.classes import over_classes
from longrank.experiments.figures.rewards import Curves, average_rewards
from longrank.experiments.figures.style import LOOKS

__all__ = ["LOOKS", "Curves", "average_rewards", "over_budgets", "over_classes"]
