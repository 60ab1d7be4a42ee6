"""Reading pictures of a user: blocks of text, pages at several scales, whole photographs."""
