
¼/device:TPU:0Steps·שו£´װרץPXLA Modules·שו£´װרץPXLA Ops·שו£´װרץP$Framework Name Scope·שו£´װרץPSource code·שו£´װרץP*($ peak_hbm_bw_gigabytes_per_second*!peak_teraflops_per_second*AMD EPYC*device_type_string2±:t־'…?2qעֱC־@28
	/host:CPU
gTask Environment*profile_stop_time*profile_start_time2·שו£´װרץ2üֱױÝ»װרץ‹Nothing ran during the capture: no step, no input, no compilation. Capture while the program trains, and for longer than one loop of steps."vm