"""Optimal tour lengths of TSPLIB's symmetric instances of up to 5000 nodes, as TSPLIB publishes them.

All of TYPE TSP but linhp318, which fixes an edge, and dsj1000, whose optimum depends on the edition's
rounding.
"""

SOURCE = "optimum published with TSPLIB"

_LENGTHS = """
a280:2579 att48:10628 att532:27686 bayg29:1610 bays29:2020 berlin52:7542 bier127:118282 brazil58:25395
brg180:1950 burma14:3323 ch130:6110 ch150:6528 d198:15780 d493:35002 d657:48912 d1291:50801 d1655:62128
d2103:80450 dantzig42:699 eil51:426 eil76:538 eil101:629 fl417:11861 fl1400:20127 fl1577:22249
fl3795:28772 fnl4461:182566 fri26:937 gil262:2378 gr17:2085 gr21:2707 gr24:1272 gr48:5046 gr96:55209
gr120:6942 gr137:69853 gr202:40160 gr229:134602 gr431:171414 gr666:294358 hk48:11461 kroA100:21282
kroB100:22141 kroC100:20749 kroD100:21294 kroE100:22068 kroA150:26524 kroB150:26130 kroA200:29368
kroB200:29437 lin105:14379 lin318:42029 nrw1379:56638 p654:34643 pa561:2763 pcb442:50778 pcb1173:56892
pcb3038:137694 pr76:108159 pr107:44303 pr124:59030 pr136:96772 pr144:58537 pr152:73682 pr226:80369
pr264:49135 pr299:48191 pr439:107217 pr1002:259045 pr2392:378032 rat99:1211 rat195:2323 rat575:6773
rat783:8806 rd100:7910 rd400:15281 rl1304:252948 rl1323:270199 rl1889:316536 si175:21407 si535:48450
si1032:92650 st70:675 swiss42:1273 ts225:126643 tsp225:3916 u159:42080 u574:36905 u724:41910
u1060:224094 u1432:152970 u1817:57201 u2152:64253 u2319:234256 ulysses16:6859 ulysses22:7013
vm1084:239297 vm1748:336556
"""

TSP = {name: int(length) for name, length in (pair.split(":") for pair in _LENGTHS.split())}
"""Optimum by name of the instance."""


def optimum(name: str, nodes: int) -> float | None:
    """The optimum of the instance of that name, None where none is known or it has not ``nodes`` nodes."""
    name = name.removesuffix(".tsp")
    digits = "".join(character for character in name if character.isdigit())
    return float(TSP[name]) if name in TSP and int(digits) == nodes else None
