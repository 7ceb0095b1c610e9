"""The ground floor: what every feature stands on. It imports nothing of ours from above."""
