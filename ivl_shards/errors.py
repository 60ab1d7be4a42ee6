"""The two ways in which things go wrong that are not bugs of ours."""


class UserError(Exception):
    """Something the user can put right: one line that says what, where, and what to do.

    Command-line tools print it and exit with code 2; nothing has been touched.
    """


class Damage(UserError):
    """A file that is not what it says it is. `ivl-shards verify` exits with code 1 on it."""


class Foreign(Damage):
    """A file of another format. It is never replaced, whatever the user says."""


class Stopped(UserError):
    """Work that ended early through no fault of the input (disk full, worker lost).

    What is finished is kept, and the same command goes on from there; exit code 1.
    """
