"""Running graphs: the interpreter that defines their meaning, and the executables' cache."""
