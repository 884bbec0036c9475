"""Quality of logs, and is a log what it says it is: columns, signs, zeros, units and mount held against the model, before any fit."""
