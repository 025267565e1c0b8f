"""Pure measurements of arrays: samples, rhythms, spectra, profiles, units in the last place."""
