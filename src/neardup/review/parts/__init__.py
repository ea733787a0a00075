"""The parts that the report and the live pages share: the frame, the style, tables, charts, and a pair."""
