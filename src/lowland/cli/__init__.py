"""The command line: one file per verb. Help is read from the index of methods, before anything heavy loads."""
