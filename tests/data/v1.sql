BEGIN TRANSACTION;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO "meta" VALUES('schema_version','1');
INSERT INTO "meta" VALUES('config','{"problem": "tsp", "method": "esopt", "budget": 20, "seed": 7, "model": "scripted", "style": "auto", "population": 10, "parents": 2, "sigma": 0.001, "alpha": 0.0005, "temperature": null, "top_p": null, "max_tokens": 0, "init_share": 0.2, "timeout": 0.0, "memory_mb": 2048, "workers": 1, "problem_path": ""}');
INSERT INTO "meta" VALUES('created','1795987006.9228053');
INSERT INTO "meta" VALUES('model_name','scripted');
INSERT INTO "meta" VALUES('parameters','64');
INSERT INTO "meta" VALUES('style','skeleton');
INSERT INTO "meta" VALUES('problem','tsp');
INSERT INTO "meta" VALUES('schedule','one short generation of 5 e1 + 5 e2 + 5 m1 + 5 m2 = 20 proposals; 2 weight updates');
INSERT INTO "meta" VALUES('started_event','{"config": {"problem": "tsp", "method": "esopt", "budget": 20, "seed": 7, "model": "scripted", "style": "auto", "population": 10, "parents": 2, "sigma": 0.001, "alpha": 0.0005, "temperature": null, "top_p": null, "max_tokens": 0, "init_share": 0.2, "timeout": 0.0, "memory_mb": 2048, "workers": 1, "problem_path": ""}, "folder": "run", "model": "scripted", "parameters": 64, "style": "skeleton", "schedule": "one short generation of 5 e1 + 5 e2 + 5 m1 + 5 m2 = 20 proposals; 2 weight updates", "updates_planned": 2, "reference": 5.70445, "reference_source": "iterated local search (benchmarks/references.py)", "decimals": 5, "known": {"nearest neighbour": 7.00437, "nearest minus home": 6.71255, "nearest minus rest": 6.47196}, "spent": 0}');
INSERT INTO "meta" VALUES('base_hash','a091e20eaf8c7bdd54f863cfb9f826d80340ab3e7fd9dd6f80a2f5c641dd0c15');
INSERT INTO "meta" VALUES('finished','{"status": "done", "folder": "run", "best": 6.42657, "gap": 0.1265888911288556, "test": 6.34769, "test_gap": 0.1185356828193833, "test_what": "1000 instances of size 50", "test_detail": "", "summary": {"proposals": 20, "init_proposals": 4, "valid": 12, "validity": 0.6, "duplicates": 6, "updates": 2, "prompt_tokens": 2292, "completion_tokens": 93, "tokens_per_second": 37438.49820221966, "wall_seconds": 7.979808330535889, "model_seconds": 0.0024840740004492545, "es_seconds": 2.653029597999762, "evaluation_seconds": 2.1758756110001514, "es_share": 0.3324678348285085, "outcomes": {"ok": 16, "runtime_error": 8}, "weights_hash": "c0351ed05b020ebaa55b64bd62f9e142ebe83c923d5deff279f6551acd165665"}}');
INSERT INTO "meta" VALUES('status','done');
CREATE TABLE proposals (
    id INTEGER PRIMARY KEY, batch INTEGER NOT NULL, slot INTEGER NOT NULL, phase TEXT NOT NULL,
    generation INTEGER NOT NULL, operator TEXT NOT NULL, parents TEXT NOT NULL,
    prompt TEXT NOT NULL, prefill TEXT NOT NULL, reply TEXT NOT NULL, code TEXT NOT NULL,
    completion TEXT NOT NULL, thought TEXT NOT NULL, outcome TEXT NOT NULL, objective REAL,
    detail TEXT NOT NULL, duplicate_of INTEGER, request_seed INTEGER NOT NULL, direction_seed INTEGER,
    sigma REAL, reward REAL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
    model_seconds REAL NOT NULL, es_seconds REAL NOT NULL, evaluation_seconds REAL NOT NULL,
    created REAL NOT NULL,
    UNIQUE (batch, slot), CHECK ((outcome = 'ok') = (objective IS NOT NULL))
);
INSERT INTO "proposals" VALUES(1,0,0,'init',0,'i1','[]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # one number per entry, with weights such as 0.2 or 1.5:
    score = near',' +','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near','','ok',7.00437,'',NULL,2102456719,NULL,NULL,NULL,86,1,8.73699999601740273647e-05,9.13300004867778625339e-06,1.39195623999967210693e-01,1.7959870086490540504e+09);
INSERT INTO "proposals" VALUES(2,0,1,'init',0,'i1','[]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # one number per entry, with weights such as 0.2 or 1.5:
    score = near',' ** 0.5 - 1.141 * np.sqrt(home)','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near ** 0.5 - 1.141 * np.sqrt(home)
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near ** 0.5 - 1.141 * np.sqrt(home)','','ok',7.13187,'',NULL,689362576,NULL,NULL,NULL,86,6,1.27049000070655893068e-04,2.85720000192668521776e-05,1.61429071000043222738e-01,1.79598700880714416501e+09);
INSERT INTO "proposals" VALUES(3,0,2,'init',0,'i1','[]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # one number per entry, with weights such as 0.2 or 1.5:
    score = near',' - (0.715 * home','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near','','ok',7.00437,'',1,898585613,NULL,NULL,NULL,86,4,9.5202000011340714991e-05,1.33800000412520603276e-05,0.0,1.7959870088075861931e+09);
INSERT INTO "proposals" VALUES(4,0,3,'init',0,'i1','[]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # one number per entry, with weights such as 0.2 or 1.5:
    score = near',' - 0.251 * rest','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near - 0.251 * rest
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near - 0.251 * rest','','ok',6.70779,'',NULL,99445725,NULL,NULL,NULL,86,4,1.29553000078885816037e-04,1.92689999494177754968e-05,1.5728616199999123637e-01,1.79598700896437811847e+09);
INSERT INTO "proposals" VALUES(5,1,0,'search',1,'e1','[4, 2]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # score = near ** 0.5 - 1.141 * np.sqrt(home)  (objective 7.13187)
    # score = near - 0.251 * rest  (objective 6.70779)
    # another kind of formula, such as a ratio, a power or a product:
    score = near','.sum()','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near.sum()
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near.sum()','','runtime_error',NULL,'ValueError: score has shape (), not (49,) (line 11)',NULL,1958886218,NULL,NULL,NULL,110,1,8.86820000687294e-05,1.02049999668452073819e-05,2.45664459999943574075e-02,1.79598700900505805011e+09);
INSERT INTO "proposals" VALUES(6,1,1,'search',1,'e1','[1, 2]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # score = near ** 0.5 - 1.141 * np.sqrt(home)  (objective 7.13187)
    # score = near  (objective 7.00437)
    # another kind of formula, such as a ratio, a power or a product:
    score = near','','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near','','ok',7.00437,'',1,1940704247,NULL,NULL,NULL,106,0,1.0009899995111481985e-04,1.61440000283619156107e-05,0.0,1.79598700900559306138e+09);
INSERT INTO "proposals" VALUES(7,1,2,'search',1,'e1','[4, 1]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # score = near  (objective 7.00437)
    # score = near - 0.251 * rest  (objective 6.70779)
    # another kind of formula, such as a ratio, a power or a product:
    score = near',' * (1 + 0.882 * home)','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near * (1 + 0.882 * home)
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near * (1 + 0.882 * home)','','ok',7.2555,'',NULL,1835493958,NULL,NULL,NULL,104,6,1.01741000094079936388e-04,1.53830000044763437472e-05,1.61864909000087209278e-01,1.7959870091690363884e+09);
INSERT INTO "proposals" VALUES(8,1,3,'search',1,'e1','[4, 1]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # score = near  (objective 7.00437)
    # score = near - 0.251 * rest  (objective 6.70779)
    # another kind of formula, such as a ratio, a power or a product:
    score = near',' / unknown_name','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near / unknown_name
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near / unknown_name','','runtime_error',NULL,'NameError: name ''unknown_name'' is not defined (line 8)',NULL,860116631,NULL,NULL,NULL,104,2,0.000102902999969956,1.50019999409778392873e-05,1.70279380000692981411e-02,1.79598700918199467662e+09);
INSERT INTO "proposals" VALUES(9,1,4,'search',1,'e1','[1, 2]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # score = near ** 0.5 - 1.141 * np.sqrt(home)  (objective 7.13187)
    # score = near  (objective 7.00437)
    # another kind of formula, such as a ratio, a power or a product:
    score = near',' - 0.841 * rest','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near - 0.841 * rest
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near - 0.841 * rest','','ok',6.42657,'',NULL,2120589389,NULL,NULL,NULL,106,4,1.11496000045008258894e-04,1.87069999810773879289e-05,1.51350616999934572959e-01,1.7959870093332817554e+09);
INSERT INTO "proposals" VALUES(10,2,0,'search',1,'e2','[4, 1]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # score = near  (objective 7.00437)
    # score = near - 0.251 * rest  (objective 6.70779)
    # all terms of these, with new weights:
    score = near',' ** 0.5 - 0.470 * np.sqrt(home)','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near ** 0.5 - 0.470 * np.sqrt(home)
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near ** 0.5 - 0.470 * np.sqrt(home)','','ok',6.69888,'',NULL,272141999,NULL,NULL,NULL,98,6,8.81910000316565856337e-05,1.22789999750239076092e-05,1.64732041999968714662e-01,1.79598700950916385652e+09);
INSERT INTO "proposals" VALUES(11,2,1,'search',1,'e2','[4, 2]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # score = near ** 0.5 - 1.141 * np.sqrt(home)  (objective 7.13187)
    # score = near - 0.251 * rest  (objective 6.70779)
    # all terms of these, with new weights:
    score = near',' ** 0.5 - 0.872 * np.sqrt(home)','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near ** 0.5 - 0.872 * np.sqrt(home)
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near ** 0.5 - 0.872 * np.sqrt(home)','','ok',6.45283,'',NULL,1756037853,NULL,NULL,NULL,104,6,1.0041899997759173857e-04,1.53329999648121884092e-05,1.47955047000095873954e-01,1.79598700965717768662e+09);
INSERT INTO "proposals" VALUES(12,2,2,'search',1,'e2','[9, 7]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # score = near * (1 + 0.882 * home)  (objective 7.25550)
    # score = near - 0.841 * rest  (objective 6.42657)
    # all terms of these, with new weights:
    score = near','[:, 0]','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near[:, 0]
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near[:, 0]','','runtime_error',NULL,'IndexError: too many indices for array: array is 1-dimensional, but 2 were indexed (line 8)',NULL,1192941635,NULL,NULL,NULL,104,2,9.96280000435945112258e-05,1.50920000123733188956e-05,1.7054798000003756897e-02,1.79598700967429947858e+09);
INSERT INTO "proposals" VALUES(13,2,3,'search',1,'e2','[2, 7]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # score = near * (1 + 0.882 * home)  (objective 7.25550)
    # score = near ** 0.5 - 1.141 * np.sqrt(home)  (objective 7.13187)
    # all terms of these, with new weights:
    score = near',' * (1 + 0.175 * home)','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near * (1 + 0.175 * home)
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near * (1 + 0.175 * home)','','ok',7.11278,'',NULL,1332220192,NULL,NULL,NULL,106,6,1.20369000001119275111e-04,2.0769999991898657754e-05,0.148113862999935,1.79598700982232499121e+09);
INSERT INTO "proposals" VALUES(14,2,4,'search',1,'e2','[9, 4]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # score = near - 0.251 * rest  (objective 6.70779)
    # score = near - 0.841 * rest  (objective 6.42657)
    # all terms of these, with new weights:
    score = near','[:, 0]','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near[:, 0]
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near[:, 0]','','runtime_error',NULL,'IndexError: too many indices for array: array is 1-dimensional, but 2 were indexed (line 8)',12,350034581,NULL,NULL,NULL,102,2,1.10594000034325290471e-04,1.79069999148850911296e-05,0.0,1.79598700982274866099e+09);
INSERT INTO "proposals" VALUES(15,3,0,'search',1,'m1','[9]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # score = near - 0.841 * rest  (objective 6.42657)
    # better, with another term:
    score = near',' * (1 + 0.913 * home)','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near * (1 + 0.913 * home)
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near * (1 + 0.913 * home)','','ok',7.25739,'',NULL,2085876161,1393974990,0.001,-8.28929999999999722604e-01,89,6,1.23934000043846026528e-04,2.64603721299999961047e+00,1.64052802000014708028e-01,1.79598701263897490496e+09);
INSERT INTO "proposals" VALUES(16,3,1,'search',1,'m1','[9]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # score = near - 0.841 * rest  (objective 6.42657)
    # better, with another term:
    score = near','[:, 0]','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near[:, 0]
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near[:, 0]','','runtime_error',NULL,'IndexError: too many indices for array: array is 1-dimensional, but 2 were indexed (line 8)',12,425032019,1118457307,0.001,-8.28929999999999722604e-01,89,2,1.51165000033870455808e-04,4.49308999998265790054e-03,0.0,1.79598701263949012759e+09);
INSERT INTO "proposals" VALUES(17,3,2,'search',1,'m1','[7]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # score = near * (1 + 0.882 * home)  (objective 7.25550)
    # better, with another term:
    score = near',' ** 0.5 - 0.159 * np.sqrt(home)','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near ** 0.5 - 0.159 * np.sqrt(home)
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near ** 0.5 - 0.159 * np.sqrt(home)','','ok',6.9049,'',NULL,467390277,1494131909,0.001,0.3506,91,6,9.39799999741808278486e-05,1.48431000070559093728e-04,1.42305797999938477005e-01,1.79598701278103709214e+09);
INSERT INTO "proposals" VALUES(18,3,3,'search',1,'m1','[13]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # score = near * (1 + 0.175 * home)  (objective 7.11278)
    # better, with another term:
    score = near','[:, 0]','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near[:, 0]
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near[:, 0]','','runtime_error',NULL,'IndexError: too many indices for array: array is 1-dimensional, but 2 were indexed (line 8)',12,160707200,1592346944,0.001,-1.42719999999999735962e-01,91,2,9.27780000665734405629e-05,3.75968999946962867397e-04,0.0,1.79598701278149652481e+09);
INSERT INTO "proposals" VALUES(19,3,4,'search',1,'m1','[13]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # score = near * (1 + 0.175 * home)  (objective 7.11278)
    # better, with another term:
    score = near',' * (1 + 0.147 * home)','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near * (1 + 0.147 * home)
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near * (1 + 0.147 * home)','','ok',7.10096,'',NULL,1978084726,603171556,0.001,1.1820000000000163709e-02,91,6,1.79948000095464522019e-04,1.10223999968184216413e-04,1.08478650999927594966e-01,1.79598701288788795476e+09);
INSERT INTO "proposals" VALUES(20,4,0,'search',1,'m2','[9]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # score = near - 0.841 * rest  (objective 6.42657)
    # better, with other weights:
    score = near',' ** 0.5 - 1.152 * np.sqrt(home)','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near ** 0.5 - 1.152 * np.sqrt(home)
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near ** 0.5 - 1.152 * np.sqrt(home)','','ok',7.13335,'',NULL,1135024509,310182620,0.001,-7.06780000000000185877e-01,89,6,5.97989999278070172294e-05,5.15270000960299512371e-05,1.6531324200002472935e-01,1.79598701306114411349e+09);
INSERT INTO "proposals" VALUES(21,4,1,'search',1,'m2','[17]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # score = near ** 0.5 - 0.159 * np.sqrt(home)  (objective 6.90490)
    # better, with other weights:
    score = near',' ** 0.5 - 0.668 * np.sqrt(home)','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near ** 0.5 - 0.668 * np.sqrt(home)
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near ** 0.5 - 0.668 * np.sqrt(home)','','ok',6.59031,'',NULL,160155520,712339172,0.001,3.1458999999999992525e-01,91,6,7.24180000588603434152e-05,6.98027999987971270456e-04,1.53504358000077445467e-01,1.79598701321167278288e+09);
INSERT INTO "proposals" VALUES(22,4,2,'search',1,'m2','[11]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # score = near ** 0.5 - 0.872 * np.sqrt(home)  (objective 6.45283)
    # better, with other weights:
    score = near',' / unknown_name','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near / unknown_name
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near / unknown_name','','runtime_error',NULL,'NameError: name ''unknown_name'' is not defined (line 8)',8,549551287,1267669670,0.001,-0.80267,91,2,5.29879999930926715023e-05,7.0704999984627647791e-05,0.0,1.7959870132120761871e+09);
INSERT INTO "proposals" VALUES(23,4,3,'search',1,'m2','[17]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # score = near ** 0.5 - 0.159 * np.sqrt(home)  (objective 6.90490)
    # better, with other weights:
    score = near','.sum()','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near.sum()
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near.sum()','','runtime_error',NULL,'ValueError: score has shape (), not (49,) (line 11)',5,1978504595,987694607,0.001,-0.3506,91,1,1.39296999918769870419e-04,2.85363999978471838403e-04,0.0,1.79598701321222448349e+09);
INSERT INTO "proposals" VALUES(24,4,4,'search',1,'m2','[13]','Travelling salesman: score each unvisited node by its distances near (to the current node), home (to the start) and rest (mean, to the unvisited nodes). The node with the lowest score is visited next.','```python
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    # score = near * (1 + 0.175 * home)  (objective 7.11278)
    # better, with other weights:
    score = near',' * (1 + 0.378 * home)','import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Choose the next node of a short tour: the unvisited node with the smallest score."""
    near = distance_matrix[current_node, unvisited_nodes]
    home = distance_matrix[destination_node, unvisited_nodes]
    rest = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)
    score = near * (1 + 0.378 * home)
    score = np.asarray(score, dtype=float)
    if score.shape != unvisited_nodes.shape:
        raise ValueError(f"score has shape {score.shape}, not {unvisited_nodes.shape}")
    if not np.isfinite(score).all():
        raise FloatingPointError("score is not finite")
    return unvisited_nodes[np.argmin(score)]
','near * (1 + 0.378 * home)','','ok',7.15565,'',NULL,410063088,1315824696,0.001,-4.28699999999997416466e-02,91,6,5.44709999985570902936e-05,6.92520000029617222025e-05,1.51644243000077949545e-01,1.7959870133632164002e+09);
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, started REAL NOT NULL, ended REAL NOT NULL, status TEXT NOT NULL
);
INSERT INTO "sessions" VALUES(1,1.79598700694120550153e+09,1.79598701492181873321e+09,'done');
CREATE TABLE updates (
    id INTEGER PRIMARY KEY, batch INTEGER NOT NULL UNIQUE, operator TEXT NOT NULL,
    seeds TEXT NOT NULL, rewards TEXT NOT NULL, weights TEXT NOT NULL, sigma REAL NOT NULL,
    alpha REAL NOT NULL, norm REAL NOT NULL, moved REAL NOT NULL, weights_hash TEXT NOT NULL,
    seconds REAL NOT NULL, created REAL NOT NULL
);
INSERT INTO "updates" VALUES(1,3,'m1','[1393974990, 1118457307, 1494131909, 1592346944, 603171556]','[-0.8289299999999997, -0.8289299999999997, 0.3506, -0.14271999999999974, 0.011820000000000164]','[-1.151949164178891, -1.151949164178891, 1.358236717948749, 0.308390678109824, 0.6372709322992091]',0.001,0.0005,1.84315900124214595602e-03,1.0,'030efb46c2993c458a970a4fc11ca6712e2c96417faba31518e1daaa02b371b0',1.83853999942584778182e-04,1.79598701288879537578e+09);
INSERT INTO "updates" VALUES(2,4,'m2','[310182620, 712339172, 1267669670, 987694607, 1315824696]','[-0.7067800000000002, 0.3145899999999999, -0.80267, -0.3506, -0.04286999999999974]','[-0.936613785767815, 1.5218668198379273, -1.1674250542322637, -0.07927352503502115, 0.6614455451971726]',0.001,0.0005,1.77712476764282424103e-03,1.0,'c0351ed05b020ebaa55b64bd62f9e142ebe83c923d5deff279f6551acd165665',2.78764999961822468321e-04,1.79598701336438608174e+09);
COMMIT;
