"""Code that the commands share: flags, options, output."""
