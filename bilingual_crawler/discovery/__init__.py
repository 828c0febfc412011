"""Find bilingual sites: which page comes next, and the verdict on each site. Nothing here does I/O but the sources."""
