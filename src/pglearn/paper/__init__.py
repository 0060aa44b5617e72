"""The paper's experiments, run again on the public API: `pglearn reproduce table2 | table3 | table4 | figures`.

| room           | what is in it                                                                 |
|----------------|-------------------------------------------------------------------------------|
| `datasets`     | the paper's data sets with the authors' splits                                |
| `baselines/`   | the five methods that the paper compares with                                 |
| `classifiers`  | these as scikit-learn classifiers                                             |
| `methods`      | name → how to make it with a budget; methods of one's own from a file         |
| `experiments`  | which fits each table asks for, and with how much time                        |
| `results_file` | the file of results, one row per fit                                          |
| `run`          | makes and scores fits: a learner never sees a test label                      |
| `traces`       | one search watched from outside: what its candidates would have answered when |
| `session`      | what the command line asks for, checked; runs what the file lacks             |
| `significance` | paired Wilcoxon signed-rank tests and the paper's marks                       |
| `tables`       | paper, ours and difference: as CSV and as Markdown, which is printed, too     |
| `drawings`     | the fits that each figure needs                                               |
| `figures`      | the paper's figures, drawn from rows and traces                               |
| `published/`   | every figure that the paper prints                                            |
"""
