"""The evaluation of the paper: one file a data set, method, experiment, table and figure."""
