"""Evidence for what a map shows: reliability of points, stability, clusters, and what axes and regions mean."""
