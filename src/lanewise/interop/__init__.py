"""Bridges to standards and to other libraries; each is loaded when it is first used."""
