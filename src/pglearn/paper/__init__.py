"""The paper's experiments, run again on the public API: `pglearn reproduce table2 | table3 | table4 | figures`.

| room           | what is in it                                                                     |
|----------------|-----------------------------------------------------------------------------------|
| `datasets`     | the paper's data sets with the authors' splits                                    |
| `baselines/`   | the five methods that the paper compares with, as scikit-learn classifiers        |
| `methods`      | name → how to make it with a budget; methods of one's own from a file             |
| `experiments`  | which fits each table asks for, and with how much time                            |
| `run`          | makes and scores fits: a learner never sees a test label                          |
| `traces`       | one search watched from outside: what its candidates would have answered when     |
| `results_file` | the file of results, one row per fit                                              |
| `session`      | what the command line asks for; runs what the file lacks                          |
| `tables`       | paper, ours, difference and significance: as CSV and as Markdown                  |
| `figures`      | the paper's figures: the fits that each needs, and how it is drawn                |
| `command`      | checks what is asked for, shows and writes the result                             |
| `published/`   | every figure that the paper prints                                                |
"""
