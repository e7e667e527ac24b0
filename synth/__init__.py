"""Planning problems in controlled English: generate, parse, judge, explain, drive agents through them."""
