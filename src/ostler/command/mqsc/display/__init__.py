"""DISPLAY of objects and of status: selection, order and layout of attributes."""
