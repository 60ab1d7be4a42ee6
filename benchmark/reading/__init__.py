"""Reading: pictures of one block of text, at one or several scales, and whole photographs."""
