"""Correspondence analysis: tables of counts and of categories."""
