"""Effects: colour, ink, plates and the camera. None of them moves the text."""
