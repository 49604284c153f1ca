"""The Run and its rules: pure values and functions, shared by gateway, worker and housekeeping."""
