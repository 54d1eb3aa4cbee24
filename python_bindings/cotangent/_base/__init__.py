"""What every other part stands on: checks of arguments, capture, devices, keys, callbacks."""
