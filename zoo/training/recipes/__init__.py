"""Parts of recipes: choices, command line, and the translators' run."""
