"""What a number is made of: template, tokens, counter key, sequence; the tables, and the state of a counter."""
