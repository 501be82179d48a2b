"""The page that `tmt serve` gives to the browser: HTML, modules and styles, as they are."""
