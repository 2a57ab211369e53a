#!/bin/sh
# Fails when the notes have lost their first line.
head -n 1 NOTES.txt | grep -q '^Notes for '
