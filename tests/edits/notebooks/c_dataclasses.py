"""Dataclasses, enums, properties; a class in a plain cell that steps use."""
# uses: classes builtins

# %% plain imports
from dataclasses import dataclass, field, replace
from enum import Enum

# %% plain color
class Color(Enum):
    RED = 1
    BLUE = 2

# %% step shape
@dataclass
class Box:
    width: float
    height: float
    color: Color = Color.RED
    tags: list = field(default_factory=list)

    @property
    def area(self):
        return self.width * self.height

# %% step boxes
boxes = [Box(1, 2), Box(3, 4, Color.BLUE), Box(2, 2)]

# %% step tagged
for box in boxes:
    if box.area > 3:
        box.tags.append("big")
del box

# %% step areas
areas = [box.area for box in boxes]
print(areas)

# %% plain factor
factor = 2

# %% step grown
grown = [replace(box, width=box.width * factor) for box in boxes]

# %% step blue
blue = [box for box in grown if box.color is Color.BLUE]
print(blue)

# %% step tags
tags = sum(len(box.tags) for box in boxes)

# edit factor: factor = 2 -> factor = 3 | reruns grown blue
# edit boxes: Box(2, 2) -> Box(2, 1) | reruns boxes tagged areas grown blue tags
# edit shape: self.width * self.height -> self.height * self.width | reruns shape boxes tagged areas grown blue tags
# edit tags: len(box.tags) -> 1 * len(box.tags) | reruns tags
