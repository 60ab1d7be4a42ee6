"""Attributes of a file that is not on this machine, read with a few range requests."""

import h5py

from ivl_shards.errors import UserError
from ivl_shards.format.seal import SEAL_BYTES, Seal, parse_seal
from ivl_shards.format.structure import Attributes, damage_named, read_file_attributes
from ivl_shards.remote import RemoteFile


def read_remote_seal(file: RemoteFile) -> Seal:
    """Return the seal of a remote file after checking format, version and length."""
    return parse_seal(str(file.address), file.read_range(0, min(SEAL_BYTES, file.size)), file.size)


def read_remote_attributes(file: RemoteFile) -> Attributes:
    """Return the checked attributes of a finished remote file."""
    read_remote_seal(file)
    try:
        with damage_named(str(file.address)), h5py.File(file, "r") as hdf5:
            return read_file_attributes(hdf5)
    except UserError:
        # A lost connection must not look like a damaged file, which may be replaced.
        if file.error is not None:
            raise file.error from None
        raise
