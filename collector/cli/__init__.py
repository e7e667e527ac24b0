"""The verbs of the `pdoctor` command, one file each; a verb's click command is called `command`."""
