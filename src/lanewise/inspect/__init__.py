"""Looking at what happened: `explain` now, profiles and drawings later."""
