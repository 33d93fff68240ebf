"""One file for each format that other tools record their runs in. Pure: no file is opened here."""
