"""What commands share: flags, options, output."""
