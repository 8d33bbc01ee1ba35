"""Results → Plotly figures, one form a module: ``figure(result)`` draws, ``alt(result)`` says it in words."""
