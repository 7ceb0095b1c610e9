"""The documents of the demo project, and the story that `saraban demo` tells; nothing in the product leans on it."""
