// The precompiled header needs a source of its own; see pch.h.
