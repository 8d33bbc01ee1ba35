"""Results as Plotly figures; the only room that knows Plotly."""
